"""Datasets in the forms that trainers take. Each framework is imported when it is asked for.

They stand on top of Dataset and use its public methods; what these do not show of a plan they ask
the modules of the stages. Users reach them by methods of Dataset, which forms.py has.
"""

"""Programs written for TensorFlow's tf.data: `penstock.compat.tf` and `penstock.compat.v1`.

``import penstock.compat.tf as tf`` in the place of ``import tensorflow as tf``; the guide to
porting tells what holds.
"""

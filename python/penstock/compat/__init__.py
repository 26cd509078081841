"""Run programs written for TensorFlow's tf.data: `penstock.compat.tf` and `penstock.compat.v1`.

``import penstock.compat.tf as tf`` replaces ``import tensorflow as tf``. The guide "Come from
tf.data" lists the differences.
"""

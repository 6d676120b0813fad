"""Training with Keras: the model and its compiled step, and the tf.data pipeline in front of it."""

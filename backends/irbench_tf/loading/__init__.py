"""Loading what a user named: models of the zoo, Keras files, SavedModels, and functions that make a model."""

"""What can be asked of irbench: every option is declared once, and the rest is made from its declaration.

The command line's options, Python's keywords, the keys of a plan and the stored form of a run come from the fields of
:class:`irbench.options.run.RunOptions` and of the classes in the ``options.py`` of features.
"""

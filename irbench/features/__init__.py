"""What irbench can do, one folder a feature: its options, its orchestration, its report, its words and its command."""

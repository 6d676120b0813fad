"""What figures give reason to say: warnings, doubts, marks and notes, as facts."""

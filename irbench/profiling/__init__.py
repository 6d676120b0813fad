"""The operator profile: which nodes executed operators compute, what adds up, and what each class of work takes."""

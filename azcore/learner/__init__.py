"""The learner: a Lightning module with the papers' loss, and the data module that feeds it."""

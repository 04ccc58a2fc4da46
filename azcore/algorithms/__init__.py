"""The papers' loops, put together from the parts below; begin at `alphazero.train`."""

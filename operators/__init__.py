"""Bytewax operators: place samples on nodes, the node, the exchange, flow control, scoring."""

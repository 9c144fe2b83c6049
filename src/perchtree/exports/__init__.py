"""Trees for other programs: one module per format, each with the method that ClusterTree gets.

All of them read the node table only, and none recurses: trees may be as deep as they have points.
"""

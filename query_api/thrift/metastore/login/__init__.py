"""How the worker proves to metastores who it is and for whom it acts, by SASL as Hive speaks it."""

"""The metastores behind the server: connections, logins, relayed calls."""

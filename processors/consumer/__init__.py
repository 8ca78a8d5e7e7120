"""The live consumer: a member of the group that shares out the shards, by Faust."""

// What each reason of an answer means, and what to do about it.

const NOTHING = "Nothing.";

export const REASONS = {
  fresh: ["as new as was asked for",
    "The cache has proved that it holds everything that this read must see.", NOTHING],
  newer: ["newer than asked for",
    "The cache holds all commits of the write-id list, and later ones, which was allowed.", NOTHING],
  behind: ["not folded yet",
    "Something was committed that the cache hasn't folded yet, so its copy may be too old.",
    "Usually nothing: it lasts for milliseconds. If it lasts, look at the lag under Health, and see whether a connector runs (metatide doctor)."],
  ahead: ["newer than this reader may see",
    "The cache holds commits that the reader's write-id list doesn't contain.",
    "Nothing: readers of an older snapshot get the database's answer. If newer data is acceptable, send accept_newer."],
  pending_write: ["a write is under way",
    "A transaction has changed this table and hasn't ended. It may still be aborted.",
    "Nothing: it ends with the transaction. If it lasts, look for one that hangs (SHOW TRANSACTIONS)."],
  cold: ["not in the cache",
    "The cache has no copy of this that it can trust.",
    "Such a read asks for a load, so it should be warm in a moment. It can also be warmed by order: under Tables, or by metatide admin warm. If it stays cold, see whether a connector runs (metatide doctor)."],
  table_id: ["another table of this name",
    "The table was dropped and created again, or has no write ids; the reader means another one.",
    "Let the reader look the table up again. If the cache is the older one, it follows in a moment."],
  no_list: ["nothing to check by",
    "The write-id check was requested without a list and a table id.",
    "Send write_ids and table_id, or ask for latest."],
  silent_log: ["the log is silent about it",
    "The metastore doesn't log all changes of this: functions, materialized views, replicated tables, foreign keys.",
    "Nothing. If an older state is acceptable, ask for any."],
  gap: ["too many events, or a hole in them",
    "The events since can't be examined one by one: there are more than 1,000, or some are missing.",
    "Wait until the cache has caught up; look at the lag under Health. If a hole stays, see what the connector says (metatide doctor)."],
  rewound: ["the database has another history",
    "The database is older than the cache: it was restored, or failed over and lost rows.",
    "Nothing is served from the cache until a connector has begun a new epoch. See that one runs, and that database.url names the primary."],
  unread: ["the current event is not known",
    "The database didn't say in time which event is the last.",
    "See whether the database answers (metatide doctor). Reads with any or write_ids don't need it."],
  database_only: ["only the database knows",
    "This is never kept in the cache.", NOTHING],
  excluded: ["kept out of the cache",
    "The table is on the blacklist, or not on the whitelist.",
    "If it should be cached, change the lists (metatide admin lists)."],
  paused: ["serving is paused",
    "An operator paused the cache.",
    "Resume serving under Health when the pause is no longer needed."],
  not_owned: ["its worker didn't answer",
    "Another worker holds this shard and could not answer, or nobody holds it.",
    "Look at the workers under Health: one may be down or starting."],
  store_error: ["the store can't be read",
    "The store of this shard is damaged or is being closed.",
    "It is rebuilt automatically. If this lasts, read the worker's log, and check whether its disk is full."],
};

const DETAILS = {
  never_loaded: "nobody has asked for it yet",
  loading: "it is being loaded now",
  ahead: "its load is newer than what is folded; that takes a moment",
  broken_chain: "events of its whole shard are missing",
  doubt: "an event changed more than it says",
  dropped: "it was dropped, in part or whole",
  rewritten: "an event rewrote partitions or statistics without saying how",
  renamed: "it was renamed",
  truncated: "it was truncated",
  engine_unsaid: "statistics were deleted, of an engine that isn't named",
  merged: "statistics were merged with unknown ones",
  conflict: "two writers changed it at the same time",
  undecodable: "an event about it can't be read",
  reset: "it was to be forgotten",
  void_load: "its load was incomplete",
};

/** A few words for a reason. */
export function inShort(reason) {
  return REASONS[reason]?.[0] ?? reason;
}

/** A few words for why something is cold: `never_loaded`, or `doubt: renamed`. */
export function whyCold(detail) {
  const [cold, doubt] = detail.split(": ");
  return DETAILS[doubt ?? cold] ?? detail;
}

// SPDX-License-Identifier: Apache-2.0
// SQLite, and what Swift cannot call of it: functions with a variable number of arguments.
#pragma once
#include <sqlite3.h>

/// Refuses what SQL could do to the file itself, and to look into functions that a file names.
static inline int batchwise_defend(sqlite3 *database) {
  int code = sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
  if (code != SQLITE_OK) return code;
  return sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
}

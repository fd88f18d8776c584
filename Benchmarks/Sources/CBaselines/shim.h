// SPDX-License-Identifier: Apache-2.0
// The libraries as they are, to compare ours with.
#pragma once
#include <openssl/evp.h>
#include <sqlite3.h>

// SPDX-License-Identifier: Apache-2.0

import Testing

/// What the built command does, one run after the other: many at once would wait for each other, and
/// what must be done within the grace of an interrupt would not be.
@Suite("Runs of the command", .serialized, .timeLimit(.minutes(1)))
enum CommandRuns {}

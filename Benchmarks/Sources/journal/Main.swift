// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Measures the journal and the digests: `journal [FOLDER [appends | begin | digests | RECORDS ...]]`.
@main
enum Main {
  static func main() async throws {
    let words = CommandLine.arguments.dropFirst()
    let folder = (words.first ?? "/dev/shm") + "/batchwise-bench-\(getpid())"
    let sizes = words.dropFirst().compactMap { Int($0) }
    mkdir(folder, 0o777)
    defer { rmdir(folder) }
    if words.count < 2 { try await measureSizes([100_000, 1_000_000], in: folder) }
    if !sizes.isEmpty { try await measureSizes(sizes, in: folder) }
    if words.count < 2 || words.contains("appends") { try await measureAppends(in: folder) }
    if words.count < 2 || words.contains("begin") { try await measureBeginnings(in: folder) }
    if words.count < 2 || words.contains("digests") { measureDigests() }
  }
}

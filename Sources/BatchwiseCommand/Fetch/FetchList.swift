// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseDownload

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// The addresses given as arguments, and then those of a list.
struct FetchList: WorkSource {
  private var arguments: WorkList
  private var list: URLListReader?

  init(arguments: [String], list: URLListReader?) {
    self.arguments = WorkList(addresses: arguments)
    self.list = list
  }

  mutating func next(upTo count: Int) async throws -> [WorkItem]? {
    if let items = arguments.next(upTo: count) { return items }
    return try await list?.next(upTo: count)
  }

  mutating func takeBuffered() -> [WorkItem] {
    (arguments.next(upTo: .max) ?? []) + (list?.takeBuffered() ?? [])
  }
}

/// Where the items go that are neither done nor skipped, as a list that can be read again.
final class UnfinishedList: Sendable {
  private let stream: OutputStream

  init(to stream: OutputStream) { self.stream = stream }

  /// Adds items as the list had them, with their headers and passwords.
  ///
  /// - Returns: What kept them from being written, or nil.
  func add(_ items: [WorkItem]) -> SystemError? {
    guard !items.isEmpty else { return nil }
    return stream.write(items.map { $0.listLine + "\n" }.joined())
  }

  /// Adds the items that a run which was stopped has not read, as far as the list can be read again.
  ///
  /// - Parameters:
  ///   - list: All items from the first one on.
  ///   - count: How many of them the run has read.
  ///   - naming: How the run has named files.
  /// - Returns: What kept them from being written, or nil.
  func add(restOf list: FetchList, after count: Int, _ naming: Naming) async -> SystemError? {
    var list = list
    var number = 0
    // What cannot be read now could not be read by the run either.
    while let items = try? await list.next(upTo: 256) {
      var rest: [WorkItem] = []
      for item in items {
        number += 1
        if number > count, item.flaw == nil {
          rest.append(item.asUnfinished(naming, number: number))
        }
      }
      if let failure = add(rest) { return failure }
    }
    return nil
  }
}

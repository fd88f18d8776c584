// SPDX-License-Identifier: Apache-2.0

/// Reads a list of any format from a file, a pipe or a terminal.
///
/// Holds one block of 64 KiB and one record, however long the list is, and reads no further than it is
/// asked for. An item is returned as soon as its line is complete. What cannot be understood, or is
/// longer than 64 KiB, becomes an item with a flaw, and the items after it are read.
public struct URLListReader: WorkSource {
  private let input: InputDescriptor
  private var parser: ListParser
  private var isAtEnd = false

  /// Reads from an open descriptor, and closes it at the end if asked to.
  public init(descriptor: Int32, format: ListFormat = .auto, closesDescriptor: Bool = false) {
    input = InputDescriptor(descriptor, closes: closesDescriptor)
    parser = ListParser(format)
  }

  /// The next items, at once when a line is complete, or nil at the end of the list.
  ///
  /// - Throws: A ``SystemError`` when the list cannot be read, a ``ListFormatError`` before the first
  ///   item when its header line cannot be understood, a `CancellationError` when the calling task is
  ///   cancelled while it waits. The list can then not be read on.
  public mutating func next(upTo count: Int) async throws -> [WorkItem]? {
    while true {
      let items = try complete(upTo: count)
      if !items.isEmpty { return items }
      if isAtEnd { return nil }
      let bytes = try await input.nextBytes()
      if bytes.isEmpty {
        isAtEnd = true
        parser.finish()
      } else {
        parser.add(bytes)
      }
    }
  }

  /// Takes out the items whose lines are complete and that have not been returned.
  public mutating func takeBuffered() -> [WorkItem] { (try? complete(upTo: .max)) ?? [] }

  /// The items that need no further bytes.
  private mutating func complete(upTo count: Int) throws(ListFormatError) -> [WorkItem] {
    var items: [WorkItem] = []
    while items.count < count, let item = try parser.next() { items.append(item) }
    return items
  }
}

extension URLListReader: AsyncSequence {
  /// Begins to read, from where the descriptor stands.
  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// Reads the items one by one.
  public struct Iterator: AsyncIteratorProtocol {
    private var reader: URLListReader
    private var items: ArraySlice<WorkItem> = []

    fileprivate init(_ reader: URLListReader) { self.reader = reader }

    /// The next item, or nil at the end of the list.
    ///
    /// - Throws: What ``URLListReader/next(upTo:)`` throws.
    public mutating func next() async throws -> WorkItem? {
      if let item = items.popFirst() { return item }
      items = try await reader.next(upTo: 64)?[...] ?? []
      return items.popFirst()
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

/// Reads a list of addresses, one a line, from a file, a pipe or a terminal.
///
/// Holds one block of 64 KiB and one line, however long the list is, and reads no further than it
/// is asked for. An item is returned as soon as its line is complete. A line that is no text, or
/// longer than 64 KiB, becomes an item with a flaw.
public struct URLListReader: WorkSource {
  private let input: InputDescriptor
  private var lines = LineSplitter()
  private var isAtEnd = false

  /// Reads from an open descriptor, and closes it at the end if asked to.
  public init(descriptor: Int32, closesDescriptor: Bool = false) {
    input = InputDescriptor(descriptor, closes: closesDescriptor)
  }

  /// The next items, at once when a line is complete, or nil at the end of the list.
  ///
  /// - Throws: A ``SystemError`` when the list cannot be read, a `CancellationError` when the
  ///   calling task is cancelled while it waits. The list can then not be read on.
  public mutating func next(upTo count: Int) async throws -> [WorkItem]? {
    var items: [WorkItem] = []
    while !isAtEnd {
      while items.count < count, let line = lines.next() { items.append(WorkItem(line)) }
      if !items.isEmpty { return items }
      let bytes = try await input.nextBytes()
      if bytes.isEmpty {
        isAtEnd = true
        return lines.finish().map { [WorkItem($0)] }
      }
      lines.add(bytes)
    }
    return nil
  }
}

extension WorkItem {
  /// Makes an item of a line, with a flaw if the line cannot be an address.
  init(_ line: LineSplitter.Line) {
    if line.isCut {
      // Nothing of it is shown, for what tells a password from a host may be in the missing rest.
      let problem = "The line is longer than \(LineSplitter.longest) bytes"
      self.init(line: line.number, address: "", flaw: DownloadFailure(.badURL, problem))
    } else if let text = String(validating: line.bytes, as: UTF8.self) {
      self.init(line: line.number, address: text)
    } else {
      let shown = String(decoding: line.bytes, as: UTF8.self)
      let problem = "The line is not text in UTF-8"
      self.init(line: line.number, address: shown, flaw: DownloadFailure(.badURL, problem))
    }
  }
}

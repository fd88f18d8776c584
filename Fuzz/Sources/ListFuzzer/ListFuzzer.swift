// SPDX-License-Identifier: Apache-2.0

import CFuzzer

@testable import BatchwiseDownload

@main
enum ListFuzzer {
  static func main() {
    var (count, arguments) = (CommandLine.argc, Optional(CommandLine.unsafeArgv))
    _ = LLVMFuzzerRunDriver(&count, &arguments) { fuzzList($0, $1) }
  }
}

/// The first byte picks the format and the block size, the others are the list.
private func fuzzList(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  guard let choice = bytes.first else { return 0 }
  let formats = ListFormat.allCases
  let format = formats[Int(choice) % formats.count]
  let list = Array(bytes.dropFirst())

  let whole = read(list, format, by: list.count + 1)
  let inBlocks = read(list, format, by: 1 + Int(choice) / formats.count)
  precondition(whole == inBlocks, "Blocks make a difference")

  var line = 0
  for item in whole {
    precondition(item.line > line, "Lines go up")
    line = item.line
    guard item.flaw == nil else { continue }
    // What is written as a line of a list is read as the same item.
    guard item.listLine.utf8.count <= LineSplitter.longest else { continue }
    var again = read(Array(item.listLine.utf8), .ndjson, by: 65_536)
    precondition(again.count == 1, "One line is one item")
    again[0].line = item.line
    precondition(again[0] == item, "It is the same item")
  }
  return 0
}

private func read(_ list: [UInt8], _ format: ListFormat, by size: Int) -> [WorkItem] {
  var parser = ListParser(format)
  var items: [WorkItem] = []
  do {
    for start in stride(from: 0, to: list.count, by: size) {
      parser.add(Array(list[start..<min(start + size, list.count)]))
      while let item = try parser.next() { items.append(item) }
    }
    parser.finish()
    while let item = try parser.next() { items.append(item) }
  } catch {
    precondition(items.isEmpty, "A header line comes before all items")
  }
  return items
}

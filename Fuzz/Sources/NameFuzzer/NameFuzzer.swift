// SPDX-License-Identifier: Apache-2.0

import CFuzzer

@testable import BatchwiseDownload

@main
enum NameFuzzer {
  static func main() {
    var (count, arguments) = (CommandLine.argc, Optional(CommandLine.unsafeArgv))
    _ = LLVMFuzzerRunDriver(&count, &arguments) { fuzzName($0, $1) }
  }
}

/// The bytes are an address, a name that a list gives, a header field, a media type, and a file's first.
private func fuzzName(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: start, count: count)
  let text = String(decoding: bytes, as: UTF8.self)
  var address = WebAddress.example
  if let own = try? WebAddress("http://h/" + text) {
    address = own
    for naming in Naming.allCases {
      let name = FileName(for: own, naming, number: count)
      check(OutputPath(name))
      check(OutputPath(name.alternative(for: own)))
      precondition(!name.description.utf8.contains(UInt8(ascii: "/")), "A name is one component")
    }
  }
  if let path = try? OutputPath(listed: text) {
    precondition(path.description == text, "Only the normal form may differ")
    check(path)
    check(path.alternative(for: address))
  }
  if let field = HeaderField(text) {
    precondition(HeaderField(field.line) == field, "A field is read as it is written")
    precondition(field.line.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 })
  }
  _ = WebAddress.redacting(text)
  let filter = FileFilter(kind: WantedKind(text) ?? .image)
  _ = filter.failure(length: nil, mediaType: text)
  let isPicture = filter.failure(firstBytes: bytes, mediaType: nil) == nil
  if filter.kind == .image {
    precondition(isPicture == (Signature(of: bytes)?.type.type == "image"), "Bytes alone decide")
  }
  return 0
}

/// Checks what is promised of every path.
private func check(_ path: OutputPath) {
  let parts = path.description.utf8.split(separator: 0x2f, omittingEmptySubsequences: false)
  for part in parts {
    precondition(!part.isEmpty && part.count <= 255, "A part is empty or too long")
    precondition(![".", ".."].contains(String(Substring(part))), "A part has a meaning")
    precondition(!part.contains(0) && !part.contains(0x5c), "A part holds what none may")
  }
  precondition(String(Substring(parts[0])).lowercased() != OutputPath.reserved, "Not ours")
  precondition(!path.description.unicodeScalars.contains(where: \.isMisleading), "It misleads")
  precondition(path.description.utf8.elementsEqual(path.description.canonical.utf8), "Normal form")
  precondition((try? OutputPath(listed: path.description)) == path, "A path is taken as it is")
  precondition((path.folder.map { $0 + "/" } ?? "") + path.name == path.description)
}

extension WebAddress {
  /// Some address.
  fileprivate static var example: WebAddress {
    guard let address = try? WebAddress("http://h/a.png") else { preconditionFailure("It is one") }
    return address
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import CGetopt
internal import Synchronization

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

/// Reads options into settings, and returns what is no option.
///
/// The splitting is done by the C library's `getopt_long`: options and operands may be mixed, a
/// lone `--` ends the options, `--name=value` and `-n3` work, and a long name may be shortened as
/// long as it is unambiguous.
func parseArguments<Settings>(
  _ arguments: [String], _ options: [CommandOption<Settings>], into settings: inout Settings
) throws(Refusal) -> [String] {
  let (found, operands) = try getoptLock.withLock { _ throws(Refusal) in
    try splitArguments(arguments, options)
  }
  for (option, value) in found { try option.apply(&settings, value) }
  return operands
}

/// `getopt_long` keeps its place in global variables, so one list of arguments is read at a time.
private let getoptLock = Mutex(())

/// The value that stands for the first option of the table; no letter has it.
private let firstValue: Int32 = 1000

private func splitArguments<Settings>(
  _ arguments: [String], _ options: [CommandOption<Settings>]
) throws(Refusal) -> (found: [(CommandOption<Settings>, String)], operands: [String]) {
  let names = options.map { strdup($0.name) }
  var words: [UnsafeMutablePointer<CChar>?] = (["batchwise"] + arguments).map { strdup($0) }
  defer { for text in names + words { free(text) } }
  let count = Int32(words.count)
  words.append(nil)

  var table: [option] = []
  for (index, entry) in options.enumerated() {
    let kind = entry.argument == nil ? no_argument : required_argument
    table.append(
      option(name: names[index], has_arg: kind, flag: nil, val: firstValue + Int32(index)))
  }
  table.append(option())
  // The leading colon makes getopt_long tell a missing argument from an unknown option.
  let letters = ":" + options.map(\.letters).joined()

  var found: [(CommandOption<Settings>, String)] = []
  batchwise_getopt_begin()
  while case let value = getopt_long(count, &words, letters, table, nil), value != -1 {
    let match = options.indices.first { index in
      value == firstValue + Int32(index) || value == options[index].letterValue
    }
    if let match {
      let argument = batchwise_getopt_argument().map { String(cString: $0) } ?? ""
      found.append((options[match], argument))
      continue
    }
    let typed = refused(among: words)
    let isKnown = options.indices.contains(Int(batchwise_getopt_refused() - firstValue))
    throw Refusal(
      .usage, typed,
      value == Int32(UInt8(ascii: ":"))
        ? "this option needs an argument"
        : isKnown
          ? "this option takes no argument" : "there is no such option; --help lists them")
  }
  let operands = words[Int(batchwise_getopt_index())..<Int(count)]
  return (found, operands.compactMap { $0.map { String(cString: $0) } })
}

/// The option that `getopt_long` has just refused, as it was typed.
private func refused(among words: [UnsafeMutablePointer<CChar>?]) -> String {
  let index = Int(batchwise_getopt_index())
  let letter = batchwise_getopt_refused()
  // A letter may stand among others, as in -qx.
  if (1...127).contains(letter) { return "-\(UnicodeScalar(UInt8(letter)))" }
  // Behind the first byte of a letter outside ASCII, the word has not been read to its end.
  let isLongName = letter == 0 || letter >= firstValue
  return words[isLongName ? index - 1 : index].map { String(cString: $0) } ?? ""
}

extension CommandOption {
  /// The letter as `getopt_long` returns it.
  fileprivate var letterValue: Int32? { letter?.asciiValue.map(Int32.init) }

  /// The letter as `getopt_long` is told of it, with a colon if the option takes an argument.
  fileprivate var letters: String {
    letter.map { String($0) + (argument == nil ? "" : ":") } ?? ""
  }
}

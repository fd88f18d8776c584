// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
  import Glibc

  /// The memory of this process that is resident, in bytes.
  func residentMemory() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    fgets(&line, Int32(line.count), file)
    let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * sysconf(Int32(_SC_PAGESIZE))
  }
#endif

// SPDX-License-Identifier: Apache-2.0

/// A number of bytes with a unit that is a power of 1024.
func formatted(bytes: Int64) -> String {
  guard bytes >= 1024 else { return "\(bytes) B" }
  var value = Double(bytes) / 1024
  for unit in ["KiB", "MiB", "GiB"] {
    if value < 1023.95 { return formatted(number: value) + " " + unit }
    value /= 1024
  }
  return formatted(number: value) + " TiB"
}

/// A number of bytes a second.
func formatted(bytes: Int64, in seconds: Double) -> String {
  formatted(bytes: Int64(exactly: (Double(bytes) / seconds).rounded()) ?? .max) + "/s"
}

/// A number with about three digits that matter.
func formatted(number: Double) -> String {
  let decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0
  let scale = decimals == 2 ? 100.0 : decimals == 1 ? 10.0 : 1.0
  let scaled = Int64((number * scale).rounded())
  guard decimals > 0 else { return "\(scaled)" }
  let fraction = "\(scaled % Int64(scale))"
  let zeros = String(repeating: "0", count: decimals - fraction.count)
  return "\(scaled / Int64(scale)).\(zeros)\(fraction)"
}

/// A length of time as a clock would show it: `7 s`, `2:05` or `1:02:05`.
func formatted(clock duration: Duration) -> String {
  let seconds = Int64(duration.inSeconds.rounded())
  if seconds < 60 { return "\(seconds) s" }
  let minutes = seconds / 60
  func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
  if minutes < 60 { return "\(minutes):\(two(seconds % 60))" }
  return "\(minutes / 60):\(two(minutes % 60)):\(two(seconds % 60))"
}

// SPDX-License-Identifier: Apache-2.0

extension Duration {
  /// For the system's calls: whole milliseconds, rounded up, so that nobody wakes too early.
  var millisecondsRoundedUp: CInt {
    let (seconds, attoseconds) = components
    if self <= .zero { return 0 }
    if seconds > 3600 { return 3_600_000 }
    let perMillisecond: Int64 = 1_000_000_000_000_000
    return CInt(seconds * 1000 + (attoseconds + perMillisecond - 1) / perMillisecond)
  }

  /// At least one second.
  var roundedUpToSeconds: Duration {
    .seconds(max(1, components.seconds + (components.attoseconds > 0 ? 1 : 0)))
  }

  /// For libcurl's options: whole milliseconds, and no more than fit there.
  var wholeMilliseconds: Int {
    let (seconds, attoseconds) = components
    let milliseconds = min(seconds, 1_000_000) * 1000 + attoseconds / 1_000_000_000_000_000
    return Int(milliseconds)
  }
}

// SPDX-License-Identifier: Apache-2.0

/// Something whose cost for each of its elements is measured.
struct Subject {
  let name: String
  let count: Int
  private let run: () async -> Duration

  /// All that the body does is measured.
  init(_ name: String, count: Int, body: @escaping () async -> Void) {
    self = .timed(name, count: count) { await ContinuousClock().measure { await body() } }
  }

  private init(name: String, count: Int, run: @escaping () async -> Duration) {
    self.name = name
    self.count = count
    self.run = run
  }

  /// What is measured is what `run` says.
  static func timed(
    _ name: String, count: Int, _ run: @escaping () async -> Duration
  ) -> Subject {
    Subject(name: name, count: count, run: run)
  }

  /// Nanoseconds an element, in one round.
  func measure() async -> Double {
    await run() / .nanoseconds(1) / Double(count)
  }
}

/// A subject next to its baseline, and the ratio that is aimed at.
struct Comparison {
  let subject: Subject
  let baseline: Subject
  let goal: Double?

  init(_ subject: Subject, to baseline: Subject, atMost goal: Double?) {
    self.subject = subject
    self.baseline = baseline
    self.goal = goal
  }
}

/// Measures every comparison and prints a table; false if a goal was missed.
func report(_ comparisons: [Comparison], rounds: Int) async -> Bool {
  var isGood = true
  print("nanoseconds an element, median of \(rounds) rounds")
  for comparison in comparisons {
    var times: (subject: [Double], baseline: [Double]) = ([], [])
    _ = await comparison.subject.measure()
    for _ in 0..<rounds {
      times.baseline.append(await comparison.baseline.measure())
      times.subject.append(await comparison.subject.measure())
    }
    let (time, base) = (median(times.subject), median(times.baseline))
    let isMet = comparison.goal.map { time / base <= $0 } ?? true
    isGood = isGood && isMet
    let goal = comparison.goal.map { "goal 1/\(rounded(1 / $0))\(isMet ? "" : ", missed")" } ?? ""
    print(
      pad(comparison.subject.name, 40), pad("\(rounded(time))", 7), "against",
      pad("\(rounded(base))", 7), pad("1/\(rounded(base / time))", 7), goal)
  }
  return isGood
}

private func median(_ values: [Double]) -> Double {
  values.sorted()[values.count / 2]
}

private func rounded(_ value: Double) -> Double {
  (value * 10).rounded() / 10
}

func pad(_ text: String, _ width: Int) -> String {
  text + String(repeating: " ", count: max(0, width - text.count))
}

// SPDX-License-Identifier: Apache-2.0

func nanoseconds(each count: Int, _ body: () -> Void) -> Double {
  let began = ContinuousClock.now
  body()
  return (ContinuousClock.now - began) / .nanoseconds(1) / Double(count)
}

func median(_ figures: [Double]) -> Double { figures.sorted()[figures.count / 2] }

func decimal(_ figure: Double, _ places: Int) -> String {
  var scale = 1
  for _ in 0..<places { scale *= 10 }
  let rounded = Int((figure * Double(scale)).rounded())
  guard places > 0 else { return "\(rounded)" }
  let digits = String(rounded % scale)
  return "\(rounded / scale)." + String(repeating: "0", count: places - digits.count) + digits
}

func column(_ figure: Double, places: Int = 0, width: Int = 12) -> String {
  column(decimal(figure, places), width)
}

func column(_ text: String, _ width: Int) -> String {
  String(repeating: " ", count: max(0, width - text.count)) + text
}

// SPDX-License-Identifier: Apache-2.0

import CAllocations

/// Something whose need for memory is counted, for a number of elements.
struct Need {
  let name: String
  let most: Double?
  let body: (Int) async -> Void

  init(_ name: String, atMost most: Double?, body: @escaping (Int) async -> Void) {
    self.name = name
    self.most = most
    self.body = body
  }

  /// How often an element makes the subject ask for memory, once it is under way.
  ///
  /// That is the difference between a long and a longer list, without what a call costs.
  func count() async -> Double {
    await body(1_000)
    count_allocations(true)
    defer { count_allocations(false) }
    let start = allocations()
    await body(50_000)
    let middle = allocations()
    await body(250_000)
    return Double((allocations() - middle) - (middle - start)) / 200_000
  }
}

/// Counts every need and prints a table; false if one of them is too large.
func report(_ needs: [Need]) async -> Bool {
  var isGood = true
  print("allocations an element, in steady state")
  for need in needs {
    let figure = await need.count()
    let isMet = need.most.map { figure <= $0 } ?? true
    isGood = isGood && isMet
    let goal = need.most.map { "at most \($0)\(isMet ? "" : ", missed")" } ?? ""
    print(pad(need.name, 40), pad("\((figure * 10_000).rounded() / 10_000)", 7), goal)
  }
  return isGood
}

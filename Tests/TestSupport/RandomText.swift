// SPDX-License-Identifier: Apache-2.0

public import BatchwiseTesting

extension SeededGenerator {
  /// A text of at most `count` of the pieces, in any order.
  public mutating func text(of pieces: [String], upTo count: Int) -> String {
    (0..<Int.random(in: 0...count, using: &self)).map { _ in
      pieces.randomElement(using: &self) ?? ""
    }.joined()
  }
}

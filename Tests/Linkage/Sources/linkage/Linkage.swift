// SPDX-License-Identifier: Apache-2.0

import Batchwise

@main
enum Linkage {
  static func main() async {
    let squares = await [1, 2, 3].concurrentMap(limit: 2) { $0 * $0 }
    print(squares)
  }
}

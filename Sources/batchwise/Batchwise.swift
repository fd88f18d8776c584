// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseCommand

@main
enum Batchwise {
  static func main() { BatchwiseCommand.main() }
}

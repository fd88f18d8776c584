// SPDX-License-Identifier: Apache-2.0

internal import BatchwiseCommand

@main
enum BatchwiseMain {
  static func main() { BatchwiseCommand.main() }
}

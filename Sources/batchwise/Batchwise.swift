// SPDX-License-Identifier: Apache-2.0

import BatchwiseCommand

@main
enum Batchwise {
  static func main() async {
    let status = await BatchwiseCommand.main(Array(CommandLine.arguments.dropFirst()))
    exit(status)
  }
}

// SPDX-License-Identifier: Apache-2.0

@main
enum BatchwiseMain {
  static func main() async {}
}

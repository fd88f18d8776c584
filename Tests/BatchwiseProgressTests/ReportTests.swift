// SPDX-License-Identifier: Apache-2.0

import Batchwise
import BatchwiseTesting
import Foundation
import Testing

@testable import BatchwiseProgress

@Suite("The progress of a task queue", .timeLimit(.minutes(1)))
@MainActor
struct ReportTests {
}

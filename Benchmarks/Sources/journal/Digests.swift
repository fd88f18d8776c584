// SPDX-License-Identifier: Apache-2.0

import BatchwiseDownload
import CBaselines
import CryptoDigest

/// What a SHA-256 costs, beside libcrypto called in a loop with one context and no text made of it.
func measureDigests() {
  print("SHA-256            ours ns   libcrypto ns   ratio")
  for size in [0, 4096, 1 << 20] {
    let bytes = [UInt8](repeating: 7, count: size)
    let rounds = max(200, 50_000_000 / (size + 500))
    var ours: [Double] = []
    var bare: [Double] = []
    for _ in 0..<7 {
      ours.append(withMaker(rounds, bytes))
      bare.append(withLibcrypto(rounds, bytes))
    }
    let (mine, theirs) = (median(ours), median(bare))
    print(
      "\(column("\(size) B", 14))  \(column(mine)) \(column(theirs))         "
        + "\(decimal(mine / theirs, 3))")
  }
}

private func withMaker(_ rounds: Int, _ bytes: [UInt8]) -> Double {
  let maker: any DigestMaker = CryptoDigest()
  return nanoseconds(each: rounds) {
    for _ in 0..<rounds {
      let digest = maker.makeDigest(.sha256)
      bytes.withUnsafeBytes { digest.update($0) }
      precondition(digest.finish().algorithm == .sha256)
    }
  }
}

private func withLibcrypto(_ rounds: Int, _ bytes: [UInt8]) -> Double {
  let method = EVP_MD_fetch(nil, "SHA256", nil)
  let context = EVP_MD_CTX_new()
  defer {
    EVP_MD_CTX_free(context)
    EVP_MD_free(method)
  }
  var result = [UInt8](repeating: 0, count: 32)
  return nanoseconds(each: rounds) {
    for _ in 0..<rounds {
      EVP_DigestInit_ex2(context, method, nil)
      _ = bytes.withUnsafeBytes { EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
      EVP_DigestFinal_ex(context, &result, nil)
    }
  }
}

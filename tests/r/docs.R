# SPDX-License-Identifier: Apache-2.0
# docs.R ROOT: runs what README.md and docs/r.md show in R, as written.
root <- commandArgs(TRUE)[1]
setwd(root)
pdf(NULL)

blocks <- function(document) {
  lines <- readLines(document)
  starts <- which(lines == "```r")
  lapply(starts, function(start) {
    end <- start + which(lines[-seq_len(start)] == "```")[1]
    lines[seq_len(end - start - 1) + start]
  })
}

guide <- blocks("docs/r.md")
stopifnot(length(guide) == 4)
for (block in guide) eval(parse(text = block), globalenv())
stopifnot(inherits(m, "tessera"), many["rising", "q:s(t)"] < 0.05, NROW(sce) == 2)

readme <- blocks("README.md")
stopifnot(length(readme) == 1)
set.seed(1)
frame <- data.frame(x = runif(300))
frame$y <- sin(6 * frame$x) + rnorm(300, 0, 0.3)
new <- data.frame(x = c(0.1, 0.5))
eval(parse(text = readme[[1]]), globalenv())

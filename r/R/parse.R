# SPDX-License-Identifier: Apache-2.0
# Reads model.json into R; docs/model.md describes the fields. Arrays of numbers, texts and booleans become vectors,
# null among numbers becomes NA, other arrays become lists.

numbers <- function(values) {
  if (is.list(values)) values <- vapply(values, function(one) if (is.null(one)) NA_real_ else as.numeric(one), 0)
  as.numeric(values)
}

texts <- function(values) as.character(unlist(values))

#' The values of one field in a list of objects.
field <- function(objects, name) unlist(lapply(objects, `[[`, name))

named <- function(objects, name) {
  found <- Find(function(one) identical(one$name, name), objects)
  if (is.null(found)) list() else found
}

dense <- function(matrix) {
  if (is.null(matrix$entries)) return(array(numbers(matrix$values), c(matrix$rows, matrix$cols)))
  full <- array(0, c(matrix$rows, matrix$cols))
  entries <- array(numbers(unlist(matrix$entries)), c(3, length(matrix$entries)))
  full[cbind(entries[1, ] + 1, entries[2, ] + 1)] <- entries[3, ]
  full
}

#' A name without backticks and blanks, in which texts of R and of the model may differ.
plain <- function(name) gsub("[` ]", "", name)

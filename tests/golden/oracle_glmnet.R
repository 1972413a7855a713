# oracle_glmnet.R FOLDER: fits glmnet to every problem in FOLDER, which are NAME.x, NAME.y and NAME.weights in text and
# NAME.how: family, lambda, l1_ratio, intercept. Coefficients go to NAME.coef, an output a line, the intercept first.
suppressMessages(library(glmnet))
glmnet.control(fdev = 0, devmax = 1)
folder <- commandArgs(trailingOnly = TRUE)[1]
for (how in Sys.glob(file.path(folder, "*.how"))) {
  name <- sub("\\.how$", "", how)
  words <- scan(how, what = "", quiet = TRUE)
  x <- as.matrix(read.table(paste0(name, ".x")))
  y <- scan(paste0(name, ".y"), quiet = TRUE)
  weights <- scan(paste0(name, ".weights"), quiet = TRUE)
  lambda <- as.numeric(words[2])
  if (words[1] %in% c("binomial", "multinomial")) y <- factor(y)
  fit <- glmnet(x, y, words[1], weights, alpha = as.numeric(words[3]), lambda = lambda * 10^seq(2, 0, -0.25),
                standardize = FALSE, intercept = words[4] == "free", thresh = 1e-18, maxit = 1e7)
  coefs <- coef(fit, s = lambda)
  if (!is.list(coefs)) coefs <- list(coefs)
  rows <- t(sapply(coefs, as.numeric))
  write.table(format(rows, digits = 17), paste0(name, ".coef"), row.names = FALSE, col.names = FALSE, quote = FALSE)
}

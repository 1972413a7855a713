# glmnet_peer.R FAMILY THRESH MATRIX LABELS LAMBDAS OUT: fits, prints the seconds and writes the coefficients to OUT.
suppressMessages({library(Matrix); library(glmnet)})
args <- commandArgs(trailingOnly = TRUE)
x <- as(readMM(args[3]), "CsparseMatrix")
y <- scan(args[4], quiet = TRUE)
lambdas <- scan(args[5], quiet = TRUE)
if (args[1] == "binomial") y <- factor(y)
# glmnet scales a real y and lambda with it. Because thresh is relative to the null deviance, this has no effect.
glmnet.control(fdev = 0, devmax = 1)
began <- proc.time()[["elapsed"]]
fit <- glmnet(x, y, family = args[1], lambda = lambdas, thresh = as.numeric(args[2]), standardize = FALSE,
              intercept = FALSE, maxit = 1e7)
cat("seconds", proc.time()[["elapsed"]] - began, "\n")
writeMM(fit$beta, args[6])

/* student.h: Student's t distribution, and the normal distribution as its limit of infinitely many degrees of freedom.
 */
#ifndef PL_STUDENT_H
#define PL_STUDENT_H

/* The probability that |T| is at least |t|. */
double pl_student_tails(double t, double degrees);
/* The t > 0 at which that probability is `tails`, between 0 and 1. */
double pl_student_point(double tails, double degrees);

#endif

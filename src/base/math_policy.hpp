// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/math/policies/policy.hpp>

namespace tessera::base {

/// Policy of Boost's distributions and special functions: doubles throughout, so that a probability is the
/// same if long double is another type; NaN instead of exceptions.
using MathPolicy = boost::math::policies::policy<
    boost::math::policies::promote_double<false>,
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

}  // namespace tessera::base

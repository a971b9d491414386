// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/math/policies/policy.hpp>

namespace tessera::base {

/// Policy of Boost's distributions and special functions: they compute in double, so that results do not
/// depend on the platform's long double, and return NaN or infinity instead of throwing.
using MathPolicy = boost::math::policies::policy<
    boost::math::policies::promote_double<false>,
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

}  // namespace tessera::base

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/family/betar.hpp"
#include "gam/family/binomial.hpp"
#include "gam/family/clog.hpp"
#include "gam/family/cnorm.hpp"
#include "gam/family/cpois.hpp"
#include "gam/family/elf.hpp"
#include "gam/family/gamma.hpp"
#include "gam/family/gaussian.hpp"
#include "gam/family/inverse_gaussian.hpp"
#include "gam/family/nb.hpp"
#include "gam/family/ocat.hpp"
#include "gam/family/parts.hpp"
#include "gam/family/poisson.hpp"
#include "gam/family/quasi.hpp"
#include "gam/family/scat.hpp"
#include "gam/family/tweedie.hpp"
#include "gam/family/zip.hpp"

namespace TESSERA_NAMESPACE::gam {

/// The built-in families; the first is the default.
using BuiltInFamilies =
    FamilyList<Gaussian, Binomial, Poisson, Gamma, Nb, InverseGaussian, QuasiPoisson, QuasiBinomial, Quasi,
               Tweedie, Tw, Scat, Betar, Ocat, Cnorm, Clog, Cpois, Elf, ZiP>;

}  // namespace TESSERA_NAMESPACE::gam

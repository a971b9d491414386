// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gam/basis/ad.hpp"
#include "gam/basis/bs.hpp"
#include "gam/basis/cc.hpp"
#include "gam/basis/cp.hpp"
#include "gam/basis/cr.hpp"
#include "gam/basis/cs.hpp"
#include "gam/basis/ds.hpp"
#include "gam/basis/gp.hpp"
#include "gam/basis/mrf.hpp"
#include "gam/basis/parts.hpp"
#include "gam/basis/ps.hpp"
#include "gam/basis/re.hpp"
#include "gam/basis/tp.hpp"
#include "gam/basis/ts.hpp"

namespace TESSERA_NAMESPACE::gam {

/// The bases, in the order in which messages name them.
using Bases = BasisList<Ps, Cp, Bs, Cr, Cs, Cc, Tp, Ts, Ds, Gp, Ad, Mrf, Re>;

}  // namespace TESSERA_NAMESPACE::gam

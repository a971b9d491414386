// SPDX-License-Identifier: Apache-2.0
#include "gam/design/far_fields.hpp"

#include "base/errors.hpp"
#include "gam/basis/far_field.hpp"

#include <tessera/job/together.hpp>
#include <tessera/topology/memory_shortage.hpp>

#include <memory>
#include <vector>

namespace TESSERA_NAMESPACE::gam {

void add_far_fields(const Workers& workers, Design& design, std::int64_t rows, std::int64_t beside_bytes) {
  constexpr int rows_of_point = 5;
  std::vector<Component*> components;
  std::int64_t bytes = 0;
  together(workers.comm, [&] {
    for (RawTerm& term : design.terms) {
      for (Component& component : term.components) {
        if (!component.isotropic || !FarField::applies(*component.isotropic) ||
            rows < rows_of_point * std::int64_t{component.isotropic->points.rows()})
          continue;
        components.push_back(&component);
        bytes += FarField::bytes(*component.isotropic, component.combinations);
      }
    }
  });
  if (components.empty()) return;
  if (const auto shortage = find_memory_shortage(workers.comm, bytes + beside_bytes))
    throw base::input_error("thin plate splines of two variables {}, fewer ranks on a node, or a smaller k",
                            to_string(*shortage));
  together(workers.comm, [&] {
    for (Component* component : components)
      component->isotropic->far_field =
          std::make_shared<const FarField>(workers.team, *component->isotropic, component->combinations);
  });
}

}  // namespace TESSERA_NAMESPACE::gam

// SPDX-License-Identifier: Apache-2.0
#include "gam/data/hdf5/hdf5_table.hpp"
#include "gam/data/source/table_reader.hpp"
#include "support/table_support.hpp"

#include <hdf5.h>
#include <zlib.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace TESSERA_NAMESPACE::gam::testing {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Writes datasets at the root of a new file.
class Writer {
 public:
  explicit Writer(const std::string& path, hsize_t user_block = 0) {
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(creation, user_block);
    file_ = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT);
    H5Pclose(creation);
  }
  ~Writer() { H5Fclose(file_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // NOLINTBEGIN(readability-make-member-function-const): they write to the file
  void dataset(const std::string& name, hid_t type, const std::vector<hsize_t>& shape, const void* values) {
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t set = H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (values != nullptr) H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(set);
    H5Sclose(space);
  }
  template <class T>
  void numbers(const std::string& name, hid_t type, const std::vector<T>& values) {
    dataset(name, type, {values.size()}, values.data());
  }
  void variable_texts(const std::string& name, const std::vector<const char*>& values) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    dataset(name, type, {values.size()}, values.data());
    H5Tclose(type);
  }
  void fixed_texts(const std::string& name, std::size_t size, H5T_str_t padding, const std::string& bytes) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, size);
    H5Tset_strpad(type, padding);
    dataset(name, type, {bytes.size() / size}, bytes.data());
    H5Tclose(type);
  }
  void truths(const std::string& name, const std::vector<std::int8_t>& values) {
    const hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
    std::int8_t value = 0;
    H5Tenum_insert(type, "FALSE", &value);
    value = 1;
    H5Tenum_insert(type, "TRUE", &value);
    dataset(name, type, {values.size()}, values.data());
    H5Tclose(type);
  }
  /// Chunks of `chunk` values of a dataset with the extent `extent` in its header; only the first is written.
  void chunked(const std::string& name, hid_t type, hsize_t extent, hsize_t chunk) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 1, &chunk);
    const hid_t space = H5Screate_simple(1, &extent, nullptr);
    const hid_t set = H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    const hsize_t begin = 0;
    const hsize_t count = 1;
    const hid_t one = H5Screate_simple(1, &count, nullptr);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, nullptr, &count, nullptr);
    const std::vector<char> value(H5Tget_size(type));
    H5Dwrite(set, type, one, space, H5P_DEFAULT, value.data());
    for (const hid_t id : {one, space}) H5Sclose(id);
    H5Dclose(set);
    H5Pclose(creation);
  }
  /// Numbers in chunks of `chunk` values that are filtered, as values of `type`.
  void packed(const std::string& name, const std::vector<double>& values, hsize_t chunk,
              hid_t type = H5T_NATIVE_DOUBLE, void (*add_filters)(hid_t) = deflate,
              const std::string& first_chunk = {}) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 1, &chunk);
    add_filters(creation);
    const hsize_t size = values.size();
    const hid_t space = H5Screate_simple(1, &size, nullptr);
    const hid_t set = H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    const hsize_t begin = 0;
    if (!first_chunk.empty())
      H5Dwrite_chunk(set, H5P_DEFAULT, 0, &begin, first_chunk.size(), first_chunk.data());
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(creation);
  }
  static void deflate(hid_t creation) { H5Pset_deflate(creation, 1); }
  /// A dataset whose values are the bytes of another file.
  void external(const std::string& name, hsize_t size, const std::string& other) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(creation, other.c_str(), 0, size * sizeof(double));
    const hid_t space = H5Screate_simple(1, &size, nullptr);
    H5Dclose(H5Dcreate2(file_, name.c_str(), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Sclose(space);
    H5Pclose(creation);
  }
  /// A dataset that refers to a dataset of another file.
  void virtual_set(const std::string& name, hsize_t size, const std::string& other, const char* dataset) {
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t space = H5Screate_simple(1, &size, nullptr);
    H5Pset_virtual(creation, space, other.c_str(), dataset, space);
    H5Dclose(H5Dcreate2(file_, name.c_str(), H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    H5Sclose(space);
    H5Pclose(creation);
  }
  void links(const std::string& soft, const std::string& target, const std::string& other,
             const std::string& path) {
    H5Lcreate_soft(target.c_str(), file_, soft.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external(path.c_str(), target.c_str(), file_, other.c_str(), H5P_DEFAULT, H5P_DEFAULT);
  }
  void group(const std::string& name) {
    H5Gclose(H5Gcreate2(file_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }
  void named_type(const std::string& name) {
    const hid_t type = H5Tcopy(H5T_NATIVE_INT);
    H5Tcommit2(file_, name.c_str(), type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Tclose(type);
  }
  void null_space(const std::string& name) {
    const hid_t space = H5Screate(H5S_NULL);
    H5Dclose(H5Dcreate2(file_, name.c_str(), H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
  }
  // NOLINTEND(readability-make-member-function-const)

 private:
  hid_t file_ = -1;
};

/// Two columns, and all other kinds of objects at the root of a file.
void write_objects_of_each_kind(Writer& w) {
  const std::vector<double> numbers{1, 2, 3};
  w.numbers<double>("x", H5T_NATIVE_DOUBLE, numbers);
  w.truths("bool", {0, 1, 1});
  w.group("group");
  w.dataset("group/inside", H5T_NATIVE_DOUBLE, {3}, numbers.data());
  w.dataset("matrix", H5T_NATIVE_DOUBLE, {3, 1}, numbers.data());
  w.dataset("scalar", H5T_NATIVE_DOUBLE, {}, numbers.data());
  const auto of_type = [&](const std::string& name, hid_t type) {
    w.dataset(name, type, {3}, std::vector<char>(3 * H5Tget_size(type)).data());
    H5Tclose(type);
  };
  const hid_t compound = H5Tcreate(H5T_COMPOUND, 16);
  H5Tinsert(compound, "a", 0, H5T_NATIVE_DOUBLE);
  H5Tinsert(compound, "b", 8, H5T_NATIVE_INT);
  of_type("compound", compound);
  const hsize_t two = 2;
  of_type("array", H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &two));
  of_type("opaque", H5Tcreate(H5T_OPAQUE, 4));
  of_type("bits", H5Tcopy(H5T_NATIVE_B8));
  of_type("list", H5Tvlen_create(H5T_NATIVE_INT));
  of_type("reference", H5Tcopy(H5T_STD_REF_OBJ));
  w.named_type("type");
  w.null_space("null");
  w.links("soft", "/x", "other", "/etc/passwd");
}

const std::vector<std::pair<std::string, std::string>> no_columns{
    {"array", "has arrays as values: write each element as a separate dataset"},
    {"bits", "has bit fields: write them as integers"},
    {"compound", "has compound values: write each of its 2 members as a separate dataset"},
    {"group", "is a group: copy its datasets to the root"},
    {"list", "has lists of variable length as values: write one number or text per row"},
    {"matrix", "has 2 dimensions (3 x 1): write each column as a dataset with one dimension"},
    {"null", "has no values (a null dataspace)"},
    {"opaque", "has opaque values: write it as numbers or texts"},
    {"other", "is a link to another file, which is not followed: copy the dataset into this file"},
    {"reference", "has references to other objects, which are not followed"},
    {"scalar", "is one value (a scalar), not one value per row"},
    {"soft", "is a symbolic link, which is not followed: copy the dataset to the root"},
    {"type", "is a type, without values"}};

/// A file written by rank 0. *Collective.*
template <class Fill>
void fill(const mpi::Communicator& comm, const SharedFile& file, Fill&& with, hsize_t user_block = 0) {
  comm.barrier();
  if (comm.rank() == 0) {
    Writer writer(file.path(), user_block);
    with(writer);
  }
  comm.barrier();
}

using Hdf5Table = OverRanks;

TEST_F(Hdf5Table, ReadsEveryKindOfColumn) {
  const SharedFile file(comm, "kinds.h5");
  fill(comm, file, [](Writer& w) {
    w.numbers<double>("x", H5T_NATIVE_DOUBLE, {1.5, nan, -2, 0, 4});
    w.numbers<float>("f4", H5T_NATIVE_FLOAT, {0.5F, 1, 2, 3, 4});
    w.numbers<std::int16_t>("i2", H5T_NATIVE_INT16, {-7, 1, 2, 3, 4});
    w.numbers<std::uint64_t>("u8", H5T_NATIVE_UINT64, {1, 2, 3, 4, 9007199254740992U});
    w.variable_texts("v", {"b", "a", "", "\xC3\xA4", "b"});
    w.fixed_texts("n", 3, H5T_STR_NULLPAD, std::string("a\0\0bcdx \0\0\0\0a\0\0", 15));
    w.fixed_texts("s", 2, H5T_STR_SPACEPAD, "a bcd   a ");
    w.truths("t", {1, 0, 0, 1, 1});
    w.truths("u", {1, 0, 0, 1, 1});
    w.numbers<std::int32_t>("skip me", H5T_NATIVE_INT32, {1, 2, 3, 4, 5});
    const std::array<double, 4> square{1, 2, 3, 4};
    w.dataset("matrix", H5T_NATIVE_DOUBLE, {2, 2}, square.data());
    w.group("group");
  });
  for (const std::int64_t chunk : {1, 2, 100}) {
    const auto table =
        chunk == 100 ? open_table(crew(comm), file.path()) : open_hdf5(crew(comm), file.path(), {chunk});
    ASSERT_EQ(table->rows(), 5);
    EXPECT_EQ(table->columns(),
              (std::vector<std::string>{"f4", "i2", "n", "s", "skip me", "t", "u", "u8", "v", "x"}));
    FrameRequest wanted = request({"x", "f4", "i2", "u8", "v", "n", "s", "t", "I(i2 + f4)"});
    const Range mine = uneven_share(comm, 5, static_cast<std::uint64_t>(chunk));
    const Frame frame = table->read(crew(comm), wanted, mine);
    // No complete row has the levels bc and bcd.
    EXPECT_EQ(put_together(comm, frame),
              "1.5|0.5|-7|1|b|a|a|TRUE|-6.5|\n"
              "!NA|1|1|2|<NA>|<NA>|<NA>|FALSE|2|\n"
              "-2|2|2|3||x |d|FALSE|4|\n"
              "0|3|3|4|\xC3\xA4|||TRUE|6|\n"
              "4|4|4|9007199254740992|b|a|a|TRUE|8|\n");
    wanted.memory = MemoryOptions{.node_bytes = 0};
    const Frame spilled = table->read(crew(comm), wanted, mine);
    EXPECT_EQ(spilled.spilled.bytes, 5 * (5 * sizeof(double) + 4 * sizeof(std::int32_t) + 1));
    EXPECT_EQ(put_together(comm, spilled), put_together(comm, frame));
    const Frame texts = table->read(crew(comm), request({"`skip me`", "u"}), uneven_share(comm, 5, 3));
    EXPECT_EQ(put_together(comm, texts), "1|TRUE|\n2|FALSE|\n3|FALSE|\n4|TRUE|\n5|TRUE|\n");
    EXPECT_EQ(comm.allreduce(table->bytes_read() > 0 ? 1 : 0, mpi::Reduction::max), 1);
  }
}

TEST_F(Hdf5Table, ReadsColumnsByTheirPlacesInTheFile) {
  const SharedFile csv(comm, "plain.csv");
  std::string text = "x,t,n,p\n";
  std::vector<double> x;
  std::vector<std::int8_t> t;
  std::string n;
  std::vector<double> p;
  for (int i = 0; i < 4000; ++i) {
    x.push_back(i % 17 == 0 ? nan : i * 0.5);
    t.push_back(static_cast<std::int8_t>(i / 3 % 2));
    n += std::string(1, static_cast<char>('a' + i % 5)) + (i % 2 == 0 ? "b" : std::string(1, '\0'));
    p.push_back(i * i);
    text += (i % 17 == 0 ? "NA," : std::to_string(x.back()) + ",") + (t.back() == 1 ? "TRUE," : "FALSE,") +
            static_cast<char>('a' + i % 5) + (i % 2 == 0 ? "b," : ",") + std::to_string(i * i) + "\n";
  }
  csv.write(text);
  const auto from_csv = open_table(crew(comm), csv.path());
  // Columns in each order: with one that the library must convert, and without.
  for (const std::vector<std::string>& columns :
       {std::vector<std::string>{"x", "t", "n"}, {"n", "x", "p"}, {"p", "t"}}) {
    const Range share = uneven_share(comm, 4000, columns.size());
    const std::string expected = put_together(comm, from_csv->read(crew(comm), request(columns), share));
    for (const hsize_t user_block : {0, 1024}) {
      const SharedFile file(comm, "plain.h5");
      fill(
          comm, file,
          [&](Writer& w) {
            w.numbers("x", H5T_NATIVE_DOUBLE, x);
            w.truths("t", t);
            w.fixed_texts("n", 2, H5T_STR_NULLPAD, n);
            w.packed("p", p, 64);
          },
          user_block);
      for (const std::int64_t at_once : {1, 50, 100'000}) {
        const auto table = open_hdf5(crew(comm), file.path(), {at_once});
        EXPECT_EQ(put_together(comm, table->read(crew(comm), request(columns), share)), expected);
      }
    }
  }
}

/// Chunk filters that threads can unpack concurrently, and others.
const std::vector<void (*)(hid_t)> all_filters{[](hid_t) {},
                                               Writer::deflate,
                                               [](hid_t creation) { H5Pset_shuffle(creation); },
                                               [](hid_t creation) {
                                                 H5Pset_shuffle(creation);
                                                 H5Pset_deflate(creation, 6);
                                               },
                                               [](hid_t creation) {
                                                 H5Pset_deflate(creation, 1);
                                                 H5Pset_shuffle(creation);
                                               },
                                               [](hid_t creation) {
                                                 H5Pset_deflate(creation, 1);
                                                 H5Pset_fletcher32(creation);
                                               },
                                               [](hid_t creation) {
                                                 H5Pset_chunk_opts(creation,
                                                                   H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
                                                 H5Pset_deflate(creation, 1);
                                               }};

TEST_F(Hdf5Table, ReadsChunksHoweverTheyArePacked) {
  const SharedFile file(comm, "packed.h5");
  std::vector<double> values;
  std::vector<double> noise;  // no filter makes it shorter, so chunks are written unfiltered
  for (std::uint64_t i = 0; i < 4000; ++i) {
    values.push_back(static_cast<double>(i * i % 30'011));
    noise.push_back(
        std::ldexp(static_cast<double>(i * 0x9E3779B97F4A7C15 >> 12), static_cast<int>(i * i % 900)));
  }
  const std::array types{H5T_STD_I16LE, H5T_STD_U16LE,  H5T_STD_I32LE,  H5T_STD_U32LE,  H5T_STD_I64LE,
                         H5T_STD_U64LE, H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F64BE, H5T_STD_I32BE};
  const auto name = [](const char* kind, std::size_t filter, std::size_t i) {
    return kind + std::to_string(filter) + "_" + std::to_string(i);
  };
  for (const hsize_t chunk : {1, 64, 999, 4000}) {
    std::vector<std::string> columns;
    fill(comm, file, [&](Writer& w) {
      for (std::size_t filter = 0; filter < all_filters.size(); ++filter) {
        for (std::size_t i = 0; i < types.size(); ++i)
          w.packed(name("v", filter, i), values, chunk, types[i], all_filters[filter]);
        w.packed(name("n", filter, 0), noise, chunk, H5T_NATIVE_DOUBLE, all_filters[filter]);
      }
    });
    for (std::size_t filter = 0; filter < all_filters.size(); ++filter) {
      for (std::size_t i = 0; i < types.size(); ++i) columns.push_back(name("v", filter, i));
      columns.push_back(name("n", filter, 0));
    }
    const auto table = open_hdf5(crew(comm), file.path(), {300});
    const Range share = uneven_share(comm, 4000, chunk);
    const Frame frame = table->read(crew(comm), request(columns), share);
    for (const Variable& variable : frame.variables) {
      const std::vector<double>& all = variable.name[0] == 'n' ? noise : values;
      EXPECT_TRUE(variable.numbers == std::vector(all.begin() + share.begin, all.begin() + share.end))
          << variable.name << " in chunks of " << chunk;
    }
  }
}

TEST_F(Hdf5Table, ReadsLargeChunks) {
  const SharedFile file(comm, "large.h5");
  std::vector<double> values(700'000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 1000);
  fill(comm, file, [&](Writer& w) {
    w.packed("x", values, 300'000);
    w.packed("y", values, 200'000);
  });
  const auto table = open_table(crew(comm), file.path());
  const Range share = uneven_share(comm, table->rows(), 4);
  const Frame frame = table->read(crew(comm), request({"x", "y"}), share);
  for (const Variable& variable : frame.variables)
    EXPECT_TRUE(variable.numbers == std::vector(values.begin() + share.begin, values.begin() + share.end))
        << variable.name;
}

TEST_F(Hdf5Table, RefusesChunksThatAreDamaged) {
  const std::vector<double> values(1000, 0.5);
  std::string half(2000, '\0');
  auto size = static_cast<uLongf>(half.size());
  compress(reinterpret_cast<Bytef*>(half.data()), &size, reinterpret_cast<const Bytef*>(values.data()), 2000);
  half.resize(size);
  for (const std::string& chunk : {std::string("rubbish"), half, half.substr(0, 8)}) {
    const SharedFile file(comm, "damaged.h5");
    fill(comm, file,
         [&](Writer& w) { w.packed("x", values, 500, H5T_NATIVE_DOUBLE, Writer::deflate, chunk); });
    const auto table = open_table(crew(comm), file.path());
    const std::string fault = common_fault(comm, [&] {
      static_cast<void>(table->read(crew(comm), request({"x"}), uneven_share(comm, 1000, 2)));
    });
    EXPECT_NE(fault.find("the dataset 'x' cannot be read, since the file is damaged"), std::string::npos)
        << fault;
  }
}

TEST_F(Hdf5Table, NamesTheFirstRowWithAValueThatIsNoMember) {
  const SharedFile file(comm, "members.h5");
  std::vector<std::int8_t> t(5000, 1);
  std::vector<std::int8_t> u(5000, 0);
  t[4200] = u[3100] = u[4300] = 2;
  fill(comm, file, [&](Writer& w) {
    w.truths("t", t);
    w.truths("u", u);
  });
  for (const std::int64_t at_once : {100, 1500, 100'000}) {
    const auto table = open_hdf5(crew(comm), file.path(), {at_once});
    const std::string fault = common_fault(comm, [&] {
      static_cast<void>(table->read(crew(comm), request({"t", "u"}), uneven_share(comm, 5000, 2)));
    });
    EXPECT_NE(fault.find("row 3101: the value of 'u' is not a member"), std::string::npos) << fault;
  }
}

TEST_F(Hdf5Table, ReadsWhatTheSameCsvFileHolds) {
  const SharedFile file(comm, "same.h5");
  const SharedFile text_file(comm, "same.csv");
  std::vector<double> x;
  std::vector<std::string> names;
  std::string csv = "x,g\n";
  for (int i = 0; i < 5000; ++i) {
    x.push_back(i % 17 == 0 ? nan : i * 0.5);
    names.push_back("g" + std::to_string(i * i % 11));
    csv += (i % 17 == 0 ? "NA" : std::to_string(x.back())) + ",\"" + names.back() + "\"\n";
  }
  text_file.write(csv);
  fill(comm, file, [&](Writer& w) {
    w.numbers("x", H5T_NATIVE_DOUBLE, x);
    std::vector<const char*> texts;
    for (const std::string& name : names) texts.push_back(name.c_str());
    w.variable_texts("g", texts);
  });
  const auto a = open_table(crew(comm), text_file.path());
  const auto b = open_hdf5(crew(comm), file.path(), {700});
  const Range share = uneven_share(comm, 5000, 6);
  const Frame from_csv = a->read(crew(comm), request({"log(x + 1)", "g"}), share);
  const Frame from_hdf5 = b->read(crew(comm), request({"log(x + 1)", "g"}), share);
  EXPECT_EQ(put_together(comm, from_csv), put_together(comm, from_hdf5));
  EXPECT_EQ(from_csv.at("g").levels, from_hdf5.at("g").levels);
  EXPECT_EQ(from_csv.complete_rows, from_hdf5.complete_rows);
}

TEST_F(Hdf5Table, FollowsTheRuleOfCsvFiles) {
  const SharedFile file(comm, "rule.h5");
  fill(comm, file, [&](Writer& w) {
    w.numbers<double>("x", H5T_NATIVE_DOUBLE, {1, -999, nan, 2.5});
    w.numbers<std::int32_t>("i", H5T_NATIVE_INT32, {3, 1, 3, 20});
    w.variable_texts("f", {"a", "NA", "", " a"});
    w.variable_texts("l", {"T", "F", "NA", "FALSE"});
    w.variable_texts("n", {"1", " 2", "NA", ""});
  });
  const auto table = open_table(crew(comm), file.path());
  const auto read = [&](const char* column, const TableOptions& options = {},
                        const std::vector<std::string>& known = {}) {
    FrameRequest wanted = request({column});
    wanted.options = options;
    if (!known.empty()) wanted.known_levels = {{column, known}};
    return put_together(comm, table->read(crew(comm), wanted, uneven_share(comm, 4, 2)));
  };
  EXPECT_EQ(read("x"), "1|\n-999|\n!NA|\n2.5|\n");
  EXPECT_EQ(read("x", {.missing = {"-999"}}), "1|\n!NA|\n!NA|\n2.5|\n");
  EXPECT_EQ(read("x", {.factors = {"x"}}), "1|\n-999|\n!<NA>|\n2.5|\n");
  EXPECT_EQ(read("i", {}, {"1", "3"}), "3|\n1|\n3|\n!<NA>|\n");
  EXPECT_EQ(read("f"), "a|\n!<NA>|\n|\n a|\n");
  EXPECT_EQ(read("l"), "TRUE|\nFALSE|\n!<NA>|\nFALSE|\n");
  EXPECT_EQ(read("n"), "1|\n 2|\n!<NA>|\n|\n");
  EXPECT_EQ(read("n", {.numbers = {"n"}}), "1|\n2|\n!NA|\n!NA|\n");
}

TEST_F(Hdf5Table, RefusesUnusableFilesOnEveryRankAlike) {
  const SharedFile file(comm, "bad.h5");
  const auto fault = [&](const FrameRequest& wanted) {
    return common_fault(comm, [&] {
      const auto table = open_table(crew(comm), file.path());
      static_cast<void>(table->read(crew(comm), wanted, uneven_share(comm, table->rows(), 1)));
    });
  };
  const std::array<double, 4> four{1, 2, 3, 4};
  fill(comm, file, [&](Writer& w) { w.dataset("m", H5T_NATIVE_DOUBLE, {2, 2}, four.data()); });
  EXPECT_EQ(fault(request({"m"})),
            file.path() +
                ": no dataset of the group / can be read as a column; for example, 'm' has "
                "2 dimensions (2 x 2): write each column as a dataset with one dimension");
  fill(comm, file, [&](Writer& w) { w.dataset("x", H5T_NATIVE_DOUBLE, {0}, nullptr); });
  EXPECT_EQ(fault(request({"x"})), file.path() + ": the columns are empty: give a table with rows");
  fill(comm, file, [&](Writer& w) {
    w.numbers<double>("x", H5T_NATIVE_DOUBLE, {1, 2});
    w.numbers<double>("y", H5T_NATIVE_DOUBLE, {1, 2, 3});
  });
  EXPECT_EQ(fault(request({"x"})), file.path() +
                                       ": its columns have different lengths: 'x' has 2 values and 'y' has "
                                       "3: write columns of equal length");
  fill(comm, file, [&](Writer& w) {
    w.numbers<double>("x", H5T_NATIVE_DOUBLE, {1, std::numeric_limits<double>::infinity()});
    w.variable_texts("g", {"a", "b"});
    w.dataset("m", H5T_NATIVE_DOUBLE, {2, 2}, four.data());
  });
  EXPECT_EQ(
      fault(request({"m"})),
      file.path() + ": 'm' has 2 dimensions (2 x 2): write each column as a dataset with one dimension");
  EXPECT_EQ(fault(request({"x"})),
            file.path() + ", row 2: x is infinite: leave the row out or make the value NA");
  EXPECT_NE(fault(request({"z"})).find("unknown column 'z'"), std::string::npos);
  EXPECT_EQ(fault(request({"sqrt(g)"})),
            file.path() +
                ", row 1: the column 'g' holds the text 'a', but sqrt(g) needs "
                "numbers: give a number or NA, or name the text among the NA strings");
  FrameRequest numeric = request({"g"});
  numeric.numeric = {"g"};
  EXPECT_EQ(fault(numeric), file.path() +
                                ", row 1: the column 'g' holds the text 'a', but the model needs numbers: "
                                "give a number or NA, or name the text among the NA strings");

  fill(comm, file, [&](Writer& w) { w.variable_texts("g", {"a", "M\xFCnchen"}); });
  EXPECT_EQ(fault(request({"g"})).rfind(file.path() + ", row 2: the column 'g' holds a text that is not", 0),
            0U);
  fill(comm, file, [&](Writer& w) { w.numbers<double>("gr\xF6\xDFte", H5T_NATIVE_DOUBLE, {1, 2}); });
  EXPECT_EQ(fault(request({"x"})).rfind(file.path() + ": the name of column 1 is not UTF-8", 0), 0U);

  const auto size = std::filesystem::file_size(file.path());
  comm.barrier();
  if (comm.rank() == 0) std::filesystem::resize_file(file.path(), size / 8);
  comm.barrier();
  EXPECT_EQ(fault(request({"x"})), file.path() +
                                       ": begins like HDF5, but HDF5 cannot open it: it is damaged, or still "
                                       "open for writing: write it again");
}

// The reader checks before each piece of rows.
TEST_F(Hdf5Table, RefusesOneThatIsWrittenToWhileItIsRead) {
  const SharedFile file(comm, "t.h5");
  fill(comm, file, [](Writer& w) { w.numbers<double>("x", H5T_NATIVE_DOUBLE, {1, 2, 3, 4, 5, 6, 7, 8}); });
  namespace fs = std::filesystem;
  if (comm.rank() == 0)
    fs::last_write_time(file.path(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  comm.barrier();
  const auto touch = [&] {
    if (comm.rank() == 0)
      std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary).put('\x89');
  };
  const auto table = open_hdf5(crew(comm), file.path(), {2, touch});
  const std::string fault = common_fault(comm, [&] {
    static_cast<void>(
        table->read(crew(comm), request({"x"}), Plan::over_hosts(8, comm.size()).range_of(comm.rank())));
  });
  EXPECT_TRUE(fault.starts_with(file.path() + ": another program wrote to the file while rank 0 on "))
      << fault;
}

TEST_F(Hdf5Table, MayBeACopyOnEachNodeThatIsTheSame) {
  const SharedFile file(comm, "t.h5");
  fill(comm, file, [](Writer& w) { w.numbers<double>("x", H5T_NATIVE_DOUBLE, {1, 2, 3}); });
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path();
  const fs::path own = file.path() + "." + std::to_string(comm.rank());
  fs::create_directory(own);
  fs::copy_file(file.path(), own / "t.h5");
  fs::current_path(own);
  EXPECT_EQ(open_table(crew(comm), "t.h5")->rows(), 3);
  if (comm.size() > 1) {
    if (comm.rank() == 1) {
      Writer other("t.h5");
      other.numbers<double>("x", H5T_NATIVE_DOUBLE, {1, 2, 4});
    }
    const std::string fault = common_fault(comm, [&] { static_cast<void>(open_table(crew(comm), "t.h5")); });
    EXPECT_TRUE(fault.starts_with("t.h5: rank 0 (on ")) << fault;
  }
  fs::current_path(before);
}

TEST_F(Hdf5Table, ReadsNoOtherFile) {
  const SharedFile secret(comm, "secret.h5");
  fill(comm, secret, [](Writer& w) { w.numbers<double>("x", H5T_NATIVE_DOUBLE, {1, 2}); });
  const SharedFile file(comm, "links.h5");
  fill(comm, file, [&](Writer& w) {
    w.numbers<double>("x", H5T_NATIVE_DOUBLE, {1, 2});
    w.external("bytes", 2, secret.path());
    w.virtual_set("parts", 2, secret.path(), "x");
    w.links("soft", "/x", "other", secret.path());
  });
  const auto table = open_table(crew(comm), file.path());
  EXPECT_EQ(table->columns(), std::vector<std::string>{"x"});
  const auto fault = [&](const char* column) {
    return common_fault(comm, [&] {
      static_cast<void>(table->read(crew(comm), request({column}), uneven_share(comm, table->rows(), 1)));
    });
  };
  const std::string start = file.path() + ": ";
  EXPECT_EQ(
      fault("bytes"),
      start + "'bytes' stores its values in other files, which are not read: copy the values into this file");
  EXPECT_EQ(fault("parts"), start +
                                "'parts' is a virtual dataset over other files, which are not read: copy the "
                                "values into this file");
  EXPECT_EQ(fault("soft"),
            start + "'soft' is a symbolic link, which is not followed: copy the dataset to the root");
  EXPECT_EQ(
      fault("other"),
      start + "'other' is a link to another file, which is not followed: copy the dataset into this file");
  EXPECT_EQ(fault("x"), "no error");
}

TEST_F(Hdf5Table, TellsWhatIsNoColumnAndWhy) {
  const SharedFile file(comm, "objects.h5");
  fill(comm, file, write_objects_of_each_kind);
  const auto table = open_table(crew(comm), file.path());
  EXPECT_EQ(table->columns(), (std::vector<std::string>{"bool", "x"}));
  const auto left_out = table->left_out();
  EXPECT_EQ(left_out.size(), no_columns.size());
  for (const auto& [name, why] : no_columns) {
    ASSERT_TRUE(left_out.contains(name)) << name;
    EXPECT_EQ(left_out.at(name), why);
    EXPECT_EQ(common_fault(comm,
                           [&, column = name] {
                             FrameRequest wanted;
                             wanted.variables = {column_expression(column)};
                             static_cast<void>(
                                 table->read(crew(comm), wanted, uneven_share(comm, table->rows(), 1)));
                           }),
              file.path() + ": '" + name + "' " + why);
  }
  // A dataset in a group is refused too.
  FrameRequest wanted;
  wanted.variables = {column_expression("group/inside")};
  EXPECT_EQ(
      common_fault(
          comm,
          [&] { static_cast<void>(table->read(crew(comm), wanted, uneven_share(comm, table->rows(), 1))); }),
      file.path() + ": 'group' is a group: copy its datasets to the root");
}

TEST_F(Hdf5Table, BelievesNoSizeWithoutItsBytes) {
  const SharedFile file(comm, "sizes.h5");
  constexpr hsize_t huge = 1'000'000'000'000'000'000;
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, std::size_t{1} << 30);
  fill(comm, file, [&](Writer& w) {
    w.numbers<double>("x", H5T_NATIVE_DOUBLE, {1, 2, 3});
    w.dataset("unwritten", H5T_NATIVE_DOUBLE, {huge}, nullptr);
    w.chunked("chunks", H5T_NATIVE_DOUBLE, huge, 1000);
    w.chunked("one", H5T_NATIVE_DOUBLE, 3, 3);
    w.dataset("texts", text, {3}, nullptr);
    w.dataset("beyond", H5T_NATIVE_DOUBLE, {3}, nullptr);
  });
  H5Tclose(text);
  const auto table = open_table(crew(comm), file.path());
  EXPECT_EQ(table->columns(), (std::vector<std::string>{"one", "x"}));
  EXPECT_EQ(table->rows(), 3);
  const auto fault = [&](const char* column) {
    return common_fault(comm, [&] {
      static_cast<void>(table->read(crew(comm), request({column}), uneven_share(comm, table->rows(), 1)));
    });
  };
  const std::string start = file.path() + ": ";
  for (const char* name : {"unwritten", "chunks"})
    EXPECT_EQ(fault(name), start + "'" + name +
                               "' declares 1000000000000000000 values, but not all of them are in the file");
  EXPECT_EQ(fault("beyond"), start + "'beyond' declares 3 values, but not all of them are in the file");
  EXPECT_EQ(fault("texts"),
            start + "'texts' has values of 1073741824 bytes, more than the maximum of 67108864");
  EXPECT_EQ(fault("one"), "no error");
}

}  // namespace
}  // namespace TESSERA_NAMESPACE::gam::testing

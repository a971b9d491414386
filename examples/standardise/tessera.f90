! SPDX-License-Identifier: Apache-2.0
!> <tessera/tessera.h> for Fortran: what each function does is said there. Compile this file with the program.
module tessera
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: tessera_range, tessera_host_tile, tessera_ok, tessera_job_fault
  public :: tessera_job_open, tessera_job_close, tessera_job_verdict, tessera_plan_open, tessera_plan_close
  public :: tessera_plan_local_range, tessera_scatter, tessera_reduce, tessera_together, tessera_error

  integer(c_int), parameter :: tessera_ok = 0
  integer(c_int), parameter :: tessera_job_fault = 6

  !> Units begin to end - 1, counted from 0.
  type, bind(c) :: tessera_range
    integer(c_int64_t) :: begin, end
  end type
  type, bind(c) :: tessera_host_tile
    type(tessera_range) :: range
    integer(c_int32_t) :: thread, threads
  end type

  interface
    !> comm is an INTEGER of module mpi; options is c_null_ptr, or c_loc of a bind(c) type like tessera_options.
    function tessera_job_open(comm, options, job) bind(c, name="tessera_job_open_fortran") result(status)
      import
      integer(c_int), value :: comm
      type(c_ptr), value :: options
      type(c_ptr), intent(out) :: job
      integer(c_int) :: status
    end function
    subroutine tessera_job_close(job) bind(c)
      import
      type(c_ptr), value :: job
    end subroutine
    function verdict_of_job(job) bind(c, name="tessera_job_verdict") result(text)
      import
      type(c_ptr), value :: job
      type(c_ptr) :: text
    end function
    function last_error() bind(c, name="tessera_error") result(text)
      import
      type(c_ptr) :: text
    end function

    function tessera_plan_open(job, units, block, plan) bind(c) result(status)
      import
      type(c_ptr), value :: job
      integer(c_int64_t), value :: units, block
      type(c_ptr), intent(out) :: plan
      integer(c_int) :: status
    end function
    subroutine tessera_plan_close(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end subroutine
    function tessera_plan_local_range(plan) bind(c) result(range)
      import
      type(c_ptr), value :: plan
      type(tessera_range) :: range
    end function

    !> on_device is c_null_funptr, or c_funloc of a function as on_host is; units is c_loc of the first unit.
    function tessera_scatter(job, plan, units, count, unit_bytes, device_bytes_per_unit, on_device, on_host, &
                             context) bind(c) result(status)
      import
      type(c_ptr), value :: job, plan, units, context
      integer(c_int64_t), value :: count
      integer(c_size_t), value :: unit_bytes, device_bytes_per_unit
      type(c_funptr), value :: on_device, on_host
      integer(c_int) :: status
    end function
    function tessera_reduce(job, plan, width, device_bytes_per_unit, on_device, on_host, context, sums) bind(c) &
        result(status)
      import
      type(c_ptr), value :: job, plan, context
      integer(c_size_t), value :: width, device_bytes_per_unit
      type(c_funptr), value :: on_device, on_host
      real(c_double), intent(out) :: sums(*)
      integer(c_int) :: status
    end function
    !> Texts end with c_null_char.
    function tessera_together(job, purpose, its_status, reason) bind(c) result(status)
      import
      type(c_ptr), value :: job
      character(kind=c_char), intent(in) :: purpose(*), reason(*)
      integer(c_int), value :: its_status
      integer(c_int) :: status
    end function
    function length_of(text) bind(c, name="strlen") result(length)
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  function tessera_error() result(string)
    character(:), allocatable :: string
    string = string_of(last_error())
  end function

  function tessera_job_verdict(job) result(string)
    type(c_ptr), intent(in) :: job
    character(:), allocatable :: string
    string = string_of(verdict_of_job(job))
  end function

  function string_of(text) result(string)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: string
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(text, letters, [length_of(text)])
    allocate (character(size(letters)) :: string)
    do i = 1, size(letters)
      string(i:i) = letters(i)
    end do
  end function

end module
